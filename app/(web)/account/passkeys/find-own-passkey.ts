import { notFound } from "next/navigation";
import type { Passkey } from "@/lib/auth/passkeys/schema";
import { listPasskeys } from "@/lib/auth/passkeys/stored-passkeys";
import { pageContext } from "@/lib/auth/visitor";
import type { Principal } from "@/lib/principal";

/** The visitor's passkey with this id. Shows the page for missing pages if there is none. */
export async function findOwnPasskey(
  { account }: Pick<Principal, "account">,
  id: string | undefined,
): Promise<Passkey> {
  const passkeys = await listPasskeys(pageContext().db, account.id);
  return passkeys.find((passkey) => passkey.id === id) ?? notFound();
}
