import { type Flash, readFlash } from "@/lib/platform/http/pages/flash";
import { call } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";

type Options = { cookie?: string; ip?: string; headers?: Record<string, string> };

/** Posts a form as a browser without JavaScript does. */
export function submit(form: string, fields: Record<string, string>, options: Options = {}): Promise<Response> {
  return call("POST", `/forms/${form}`, {
    ...options,
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL, ...options.headers },
  });
}

export function submitByScript(form: string, fields: Record<string, string>, options: Options = {}): Promise<Response> {
  return submit(form, fields, { ...options, headers: { accept: "application/json", ...options.headers } });
}

/** The cookies that a response sets, as the next request sends them. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
}

/** The errors and values that a form's page shows after the redirect of a rejected form. */
export function flashOf(response: Response): Flash | null {
  const { searchParams } = new URL(response.headers.get("location") ?? "", BASE_URL);
  return readFlash({ baseUrl: BASE_URL }, cookiesOf(response), searchParams.get("formErrors") ?? undefined);
}
