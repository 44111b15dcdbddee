import { messages } from "@electric-sql/pglite";
import { DriverAdapterError, type MappedError } from "@prisma/driver-adapter-utils";

/**
 * Returns an error of the database as Prisma's client reads it, with the kinds that `@prisma/adapter-pg` has; any other error
 * as it is.
 */
export function toDriverError(error: unknown): unknown {
  if (!(error instanceof messages.DatabaseError)) return error;
  const { code: originalCode, message: originalMessage } = error;
  return new DriverAdapterError({ originalCode, originalMessage, ...kindOf(error) });
}

/** By SQLSTATE (PostgreSQL, Appendix A). Those of connections and logins are left out: there are none. */
function kindOf(error: messages.DatabaseError): MappedError {
  const { code = "N/A", severity = "N/A", message, detail, column, hint } = error;
  switch (code) {
    case "22001":
      return { kind: "LengthMismatch", column };
    case "22003":
      return { kind: "ValueOutOfRange", cause: message };
    case "22P02":
      return { kind: "InvalidInputValue", message };
    case "23001":
      return { kind: "RestrictViolation", constraint: constraintOf(error) };
    case "23502":
      return { kind: "NullConstraintViolation", constraint: undefined };
    case "23503":
      return { kind: "ForeignKeyConstraintViolation", constraint: constraintOf(error) };
    case "23505":
      return { kind: "UniqueConstraintViolation", constraint: constraintOf(error), table: error.table };
    case "40001":
    case "40P01":
      return { kind: "TransactionWriteConflict" };
    case "42703":
      return { kind: "ColumnNotFound", column: /^column (.+) does not exist$/.exec(message)?.[1]?.replaceAll('"', "") };
    case "42P01":
      return { kind: "TableDoesNotExist", table: /"(.+)"/.exec(message)?.[1] };
    default:
      return { kind: "postgres", code, severity, message, detail, column, hint };
  }
}

const constraintOf = ({ constraint }: messages.DatabaseError) => (constraint ? { index: constraint } : undefined);
