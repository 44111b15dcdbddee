"use client";

import { type PublicKeyCredentialCreationOptionsJSON, sendSignal, startRegistration } from "@simplewebauthn/browser";
import { useEffect } from "react";
import { postJson } from "./post-json";

type Props = {
  rpID: string;
  userID: string;
  email: string;
  name: string;
  /** The credential IDs of the account's passkeys. */
  accepted: string[];
  /** Whether the visitor has just signed in with a password, and has no passkey. */
  mayCreate: boolean;
};

/**
 * Tells the browser which passkeys the account has and whose they are (Web Authentication Level 3, section 5.1.10), so that it
 * offers no others. After a sign-in with a password, lets a password manager that can add a passkey without asking do so.
 */
export function KeepPasskeys({ rpID, userID, email, name, accepted, mayCreate }: Props) {
  const ids = accepted.join(" ");
  useEffect(() => {
    const allAcceptedCredentialIDs = ids.split(" ").filter(Boolean);
    const signals = [
      sendSignal({ signalName: "allAcceptedCredentials", rpID, userID, allAcceptedCredentialIDs }),
      sendSignal({ signalName: "currentUserDetails", rpID, userID, userName: email, userDisplayName: name }),
    ];
    void Promise.allSettled(signals); // not every browser has signals
    if (mayCreate) void createWithoutAsking().catch(() => {}); // nobody asked for it
  }, [rpID, userID, email, name, ids, mayCreate]);
  return null;
}

async function createWithoutAsking(): Promise<void> {
  const { conditionalCreate } = (await PublicKeyCredential.getClientCapabilities?.()) ?? {};
  if (!conditionalCreate) return;
  const conditional = true;
  const optionsJSON = await postJson<PublicKeyCredentialCreationOptionsJSON>("/api/auth/passkeys/options", {
    conditional,
  });
  const passkey = await startRegistration({ optionsJSON, useAutoRegister: true });
  await postJson("/api/auth/passkeys", { passkey, conditional });
}
