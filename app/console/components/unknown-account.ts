import { isAppError } from "@/lib/errors";
import { invalidParameter } from "../frame/page-query";

export const NO_SUCH_ACCOUNT = "No account has this email or ID";

/** Catches that nobody has the email that a list is filtered by: the list is empty, and says so. @throws every other error */
export function noSuchAccount(error: unknown): null {
  if (isAppError(error) && error.code === "not_found") return null;
  throw error;
}

/** Catches that the account of the query is not found, so that its field says it. @throws AppError invalid_query */
export function unknownAccount(error: unknown): never {
  if (isAppError(error) && error.code === "not_found") {
    throw invalidParameter("account", "No account has this email or ID.");
  }
  throw error;
}
