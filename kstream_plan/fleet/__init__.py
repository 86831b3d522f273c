"""Many applications at once: dealt into batches and worked on elsewhere, whatever that work is."""
