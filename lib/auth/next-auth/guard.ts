import { type ErrorCode, isAppError } from "../../errors";

/** Hears of what next-auth would swallow: faults of ours, not refusals of the caller. */
export type OnFailure = (error: unknown) => void;

/** How something went: done, refused with a code, or failed, which `onFailure` was told. */
type Outcome<T> = { value: T } | { refused: ErrorCode } | null;

/** Runs what may refuse its caller. Being busy is no verdict on the caller, but a failure. */
export async function attempt<T>(onFailure: OnFailure, run: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await run() };
  } catch (error) {
    if (isAppError(error) && error.code !== "overloaded" && error.code !== "unavailable") {
      return { refused: error.code };
    }
    onFailure(error);
    return null;
  }
}

/** The same where a refusal is as good as nothing. */
export async function orNull<T>(onFailure: OnFailure, run: () => Promise<T>): Promise<T | null> {
  const outcome = await attempt(onFailure, run);
  return outcome && "value" in outcome ? outcome.value : null;
}
