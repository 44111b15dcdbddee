import { isAppError } from "@/lib/errors";
import { invalidParameter } from "../frame/page-query";

/** Catches that the account of the query is not found, so that its field says it. @throws AppError invalid_query */
export function unknownAccount(error: unknown): never {
  if (isAppError(error) && error.code === "not_found") {
    throw invalidParameter("account", "No account has this email or ID.");
  }
  throw error;
}
