/** The lowest value of AUTH_PASSWORD_MIN. */
const MIN_LENGTH = 8;

let list: Promise<ReadonlySet<string>> | undefined;

/**
 * Whether a password, case-insensitive, is one of the 18,000 most common ones with at least 8 characters, by zxcvbn's
 * list (NIST SP 800-63B-4, 3.1.1.2). The first call loads the list.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  list ??= loadList();
  return (await list).has(password.toLowerCase());
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].filter((word) => word.length >= MIN_LENGTH));
}
