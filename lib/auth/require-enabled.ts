import { AppError } from "../errors";

/** Refuses an account that an operator has disabled, once its owner has been authenticated. @throws AppError account_disabled */
export function requireEnabled({ disabledAt }: { disabledAt: Date | null }): void {
  if (disabledAt !== null) throw new AppError("account_disabled");
}
