"""What differs between two sides: generations, snapshots, plans."""
