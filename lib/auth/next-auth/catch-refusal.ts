import { type AppError, type ErrorCode, isAppError } from "../../errors";

/** Receives errors that next-auth would swallow: failures of the service, not refusals of the caller. */
export type OnFailure = (error: unknown) => void;

/** A value, the code of a refusal, or null after a failure that `onFailure` has received. */
type Outcome<T> = { value: T } | { refused: ErrorCode } | null;

/** Runs a function that may refuse the caller. `overloaded` and `unavailable` are failures, not refusals. */
export async function catchRefusal<T>(
  onFailure: OnFailure,
  run: () => Promise<T>,
  onRefusal?: (error: AppError) => void,
): Promise<Outcome<T>> {
  try {
    return { value: await run() };
  } catch (error) {
    if (isAppError(error) && error.code !== "overloaded" && error.code !== "unavailable") {
      onRefusal?.(error);
      return { refused: error.code };
    }
    onFailure(error);
    return null;
  }
}

/** Runs a function. Returns null after a refusal or a failure. */
export async function orNull<T>(onFailure: OnFailure, run: () => Promise<T>): Promise<T | null> {
  const outcome = await catchRefusal(onFailure, run);
  return outcome && "value" in outcome ? outcome.value : null;
}
