import { createHash } from "node:crypto";
import { AppError } from "../errors";

/** Requires that something is as the operator has seen it. `check` throws AppError precondition_failed. */
export type Precondition = { check: (state: string) => void };

/** Identifies a state, for a precondition: two different values have different ones. */
export function stateOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 27);
}

/** Requires the state that a page has shown. */
export function seen(shown: string, detail?: string): Precondition {
  const check = (state: string) => {
    if (state !== shown) throw new AppError("precondition_failed", detail === undefined ? {} : { detail });
  };
  return { check };
}
