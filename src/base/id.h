/* Unguessable names: 128 random bits as 26 lower-case letters and digits. */
#pragma once

enum { ID_LENGTH = 26, ID_SIZE = ID_LENGTH + 1 };

/* Fills text with a new id; 0 or a negative errno when the kernel gives no randomness. */
int id_make(char text[ID_SIZE]);
