"""How far every threshold that decides a verdict can move before a test fails."""
