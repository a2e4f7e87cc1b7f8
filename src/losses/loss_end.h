/* Ends the file of a loss. */
#undef LOSS
#undef LOSS_ABOUT
#undef LOSS_OF_CLASSES
#undef LOSS_WANTS_LINEAR
#undef LOSS_TARGETS
