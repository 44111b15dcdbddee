type Problem = { code: string; reason?: string; title: string; detail?: string };

/** The problem document (RFC 9457) of a refused request. */
export class RefusedRequest extends Error {
  override readonly name = "RefusedRequest";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** Posts JSON to the API. @throws RefusedRequest; TypeError if the service cannot be reached */
export async function postJson<T>(path: string, body?: object): Promise<T> {
  const json = body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await fetch(path, { method: "POST", ...json });
  const result = await response.json();
  if (!response.ok) throw new RefusedRequest(result as Problem);
  return result as T;
}
