import { assertDescribed } from "@/tests/support/contract";

/** What no response may say: stack frames, the places of files, statements of SQL, and names of the database's libraries. */
const INTERNALS =
  /\n\s+at \S+.*:\d+:\d+|node_modules|file:\/\/\/\S+\.[jt]s|\bprisma|pglite|SQLSTATE|\bP20\d\d\b|relation "|violates|syntax error at|TypeError|ReferenceError|Cannot read prop|is not a function/i;

/** The codes that say which setting is off. */
const NOT_CONFIGURED = /"code":"\w+_not_configured"/;

/** What is wrong with a response: an error of the service, one that the document does not describe, and internals in it. */
export async function checkAnswer(
  method: string,
  pathname: string,
  response: Response,
  text: string,
): Promise<string[]> {
  const faults: string[] = [];
  if (response.status >= 500 && !(response.status === 503 && NOT_CONFIGURED.test(text)))
    faults.push(`answered ${response.status}: ${text.slice(0, 300)}`);
  await assertDescribed(method, pathname, response).catch((error: Error) => faults.push(error.message));
  const [internal] = response.status >= 400 ? (INTERNALS.exec(text) ?? []) : [];
  if (internal !== undefined) faults.push(`says ${JSON.stringify(internal)}: ${text.slice(0, 300)}`);
  return faults;
}
