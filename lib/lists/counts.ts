/** Up to how many rows a page counts: it shows "1,000+" then. */
export const MAX_COUNTED = 1_000;
