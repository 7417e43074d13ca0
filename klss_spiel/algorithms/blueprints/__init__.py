"""Blueprints learned by self-play: actor-critic training and the networks it makes."""
