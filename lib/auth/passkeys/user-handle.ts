/** The user handle of an account's passkeys (Web Authentication Level 3, section 5.4.3): the 16 bytes of its id. */
export function userHandleOf(accountId: string): string {
  return Buffer.from(accountId.replaceAll("-", ""), "hex").toString("base64url");
}
