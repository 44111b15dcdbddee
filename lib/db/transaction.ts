import type { Prisma } from "./generated/client";

/** The client inside a transaction. On PGlite, queries through any other client wait until the transaction ends. */
export type Tx = Prisma.TransactionClient;
