"""State of the studio without Qt: what the views show and what the user's actions change."""
