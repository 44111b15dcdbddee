/** What AUTH_PASSWORD_MIN is at least: shorter ones are refused for their length. */
const MIN_LENGTH = 8;

let list: Promise<ReadonlySet<string>> | undefined;

/**
 * Whether a password is, in any case of its letters, one of the 18,000 of at least 8 characters in zxcvbn's list
 * of the most common ones (NIST SP 800-63B-4, 3.1.1.2). The list is loaded when the first one is asked for.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  list ??= loadList();
  return (await list).has(password.toLowerCase());
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].filter((word) => word.length >= MIN_LENGTH));
}
