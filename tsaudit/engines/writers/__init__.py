"""What writers should send from now on, and the setting of the program that most likely writes the data, for all
engines.
"""

from tsaudit.engines.writers.step import Program, Setting, Terms, loss, milder, program_of, sentences, setting, step

__all__ = ["Program", "Setting", "Terms", "loss", "milder", "program_of", "sentences", "setting", "step"]
