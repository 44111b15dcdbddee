import type { Prisma, PrismaClient } from "./generated/client";

/** The client inside a transaction. On PGlite, queries through any other client wait until the transaction ends. */
export type Tx = Prisma.TransactionClient;

type ReadMethod =
  | "aggregate"
  | "count"
  | "findFirst"
  | "findFirstOrThrow"
  | "findMany"
  | "findUnique"
  | "findUniqueOrThrow"
  | "groupBy";
type Model = Exclude<keyof PrismaClient, `$${string}` | symbol>;

/**
 * A client that only reads, which may be that of a replica. Every client is one. Statements of `$queryRaw` must not write:
 * a replica refuses those.
 */
export type ReadClient = Pick<PrismaClient, "$queryRaw"> & {
  readonly [Name in Model]: Pick<PrismaClient[Name], ReadMethod>;
};
