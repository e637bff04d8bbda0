"""Any language model of lm-eval's registry as a judge."""
