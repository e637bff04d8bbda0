"""SmolLM2-135M-Instruct as a judge."""
