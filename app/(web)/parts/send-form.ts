/** Why a form was refused: in general, and by field. */
export type Refusal = { message: string; fields: Record<string, string> };

type Problem = { title?: string; detail?: string; errors?: { pointer: string; detail: string }[] };

const UNREACHABLE = "The service cannot be reached. Check your connection and try again.";

/** Sends a form and reads the answer: where to go next, or a problem document (RFC 9457) in a form's terms. */
export async function sendForm(action: string, data: FormData): Promise<{ location: string } | Refusal> {
  const body = new URLSearchParams([...data].map(([name, value]) => [name, String(value)]));
  try {
    const response = await fetch(action, { method: "POST", body, headers: { accept: "application/json" } });
    const answer = (await response.json()) as { location: string } | Problem;
    return "location" in answer ? answer : refusal(answer);
  } catch {
    return { message: UNREACHABLE, fields: {} };
  }
}

function refusal({ title, detail, errors = [] }: Problem): Refusal {
  const fields = errors.map(({ pointer, detail }) => [pointer.slice(1), detail]).reverse();
  return { message: detail ?? title ?? UNREACHABLE, fields: Object.fromEntries(fields) };
}
