"""Dark chess (Fog of War) and Kriegspiel on boards from 3x3 to 8x8."""
