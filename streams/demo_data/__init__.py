"""The sample that the demo publishes, and the program that made it."""
