import { isAppError } from "@/lib/errors";

export const NO_SUCH_ACCOUNT = "No account has this email or ID";

/** Catches that nobody has the email that a list is filtered by: the list is empty, and says so. @throws every other error */
export function noSuchAccount(error: unknown): null {
  if (isAppError(error) && error.code === "not_found") return null;
  throw error;
}
