import { AppError, ERRORS, type ErrorCode } from "../../errors";

/** The field at which a refusal is shown, else above the form; its words where the code's own title does not do. */
export type Places = Partial<Record<ErrorCode, { field?: string; words?: string }>>;

/** An error as a form shows it: at the field where it belongs, and with how long to wait where waiting helps. */
export function refusalInWords({ code, extras }: AppError, places: Places = {}): AppError {
  const { field, words = extras.detail ?? ERRORS[code][1] } = places[code] ?? {};
  const errors = field === undefined ? extras.errors : [{ pointer: `/${field}`, code, detail: words }];
  const wait = code === "rate_limited" && extras.retryAfterSeconds ? waitInWords(extras.retryAfterSeconds) : "";
  return new AppError(code, { ...extras, errors, detail: `${words.replace(/\.$/, "")}. ${wait}`.trim() });
}

/** "Try again in 12 minutes." */
export function waitInWords(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return "Try again in a minute.";
  if (minutes < 120) return `Try again in ${minutes} minutes.`;
  return `Try again in ${Math.ceil(minutes / 60)} hours.`;
}
