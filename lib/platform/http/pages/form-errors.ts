import { AppError, ERRORS } from "../../../errors";
import type { ErrorPlacement } from "../../../operation";

/** Assigns an error to the form field it belongs to, and adds to a rate limit's message when to try again. */
export function toFormError({ code, extras }: AppError, placement: ErrorPlacement = {}): AppError {
  const { field, message = extras.detail ?? ERRORS[code][1] } = placement[code] ?? {};
  const errors = field === undefined ? extras.errors : [{ pointer: `/${field}`, code, detail: message }];
  const retry = code === "rate_limited" && extras.retryAfterSeconds ? retryMessage(extras.retryAfterSeconds) : "";
  return new AppError(code, { ...extras, errors, detail: `${message.replace(/\.$/, "")}. ${retry}`.trim() });
}

/** "Try again in 12 minutes." */
export function retryMessage(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return "Try again in a minute.";
  if (minutes < 120) return `Try again in ${minutes} minutes.`;
  return `Try again in ${Math.ceil(minutes / 60)} hours.`;
}
