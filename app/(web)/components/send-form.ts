/** A form's errors: a message, and details by field name. */
export type FormErrors = { message: string; fields: Record<string, string> };

type Problem = { title?: string; detail?: string; errors?: { pointer: string; detail: string }[] };

const UNREACHABLE = "The service cannot be reached. Check your connection and try again.";

/** Posts a form. Returns the next page's URL, or the errors of the problem document (RFC 9457). */
export async function sendForm(action: string, data: FormData): Promise<{ location: string } | FormErrors> {
  const body = new URLSearchParams([...data].map(([name, value]) => [name, String(value)]));
  try {
    const response = await fetch(action, { method: "POST", body, headers: { accept: "application/json" } });
    const result = (await response.json()) as { location: string } | Problem;
    return "location" in result ? result : toFormErrors(result);
  } catch {
    return { message: UNREACHABLE, fields: {} };
  }
}

function toFormErrors({ title, detail, errors = [] }: Problem): FormErrors {
  const fields = errors.map(({ pointer, detail }) => [pointer.slice(1), detail]).reverse();
  return { message: detail ?? title ?? UNREACHABLE, fields: Object.fromEntries(fields) };
}
