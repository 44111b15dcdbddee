import type { Prisma } from "./generated/client";

/** The client inside a transaction. On PGlite any other client waits until the transaction is over. */
export type Tx = Prisma.TransactionClient;
