"""Algorithms on trees and sequence forms: CFR, knowledge, subgames, search."""
