"""What a task hands to methods that improve a generator, and how they return its pictures."""
