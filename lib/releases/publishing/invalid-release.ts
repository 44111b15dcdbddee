import { AppError, type ErrorCode } from "../../errors";

export const invalidRelease = (reason: string) => new AppError("release_invalid", reason);

/** @throws AppError if there is a problem, which people read */
export function refuse(problem: string | undefined, code: ErrorCode = "release_invalid"): void {
  if (problem !== undefined) throw new AppError(code, problem);
}
