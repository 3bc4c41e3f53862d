"""The players: from what a seat may know to an action. Pure, as the search is."""
