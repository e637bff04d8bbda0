"""Info-Shap neural Granger causality (SRNGC)."""
