"use client";

import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  type PublicKeyCredentialRequestOptionsJSON,
  sendSignal,
  startAuthentication,
  WebAuthnAbortService,
} from "@simplewebauthn/browser";
import { useCallback, useEffect, useRef, useState } from "react";
import { Notice } from "../components/notice";
import { COMMON } from "../language/common-texts";
import { useSite, useTexts } from "../language/site-context";
import { isReplaced, passkeyMessage } from "./passkey-message";
import { postJson, RefusedRequest } from "./post-json";

/** A challenge lasts for five minutes. */
const OFFER_INTERVAL_MS = 4 * 60 * 1000;

/**
 * Signs in with a passkey: by a button, and by the suggestions of the page's email field (conditional mediation). Shows
 * nothing where the browser has no passkeys.
 */
export function SignInWithPasskey({ next }: { next: string }) {
  const [isSupported, setSupported] = useState(false);
  const [message, setMessage] = useState("");
  const { usePasskey } = useTexts(COMMON);
  const { locale } = useSite();
  const isButtonInUse = useRef(false);
  /** Whether the service checks a passkey. A second sign-in at the same time would end the session of the first. */
  const isChecking = useRef(false);

  const offer = useCallback(async () => {
    const isWanted = () => !isButtonInUse.current && !isChecking.current && !document.hidden;
    if (!isWanted()) return;
    await signIn({ next, useBrowserAutofill: true, isWanted, isChecking }).catch((error: unknown) => {
      if (error instanceof RefusedRequest) setMessage(passkeyMessage(error, locale));
    });
  }, [next, locale]);
  useEffect(() => {
    setSupported(browserSupportsWebAuthn());
    return keepOffering(offer);
  }, [offer]);

  const signInByButton = async () => {
    const isWanted = () => !isChecking.current;
    if (!isWanted()) return;
    isButtonInUse.current = true;
    setMessage("");
    try {
      await signIn({ next, useBrowserAutofill: false, isWanted, isChecking });
      isButtonInUse.current = false;
    } catch (error) {
      if (isReplaced(error)) return;
      isButtonInUse.current = false;
      setMessage(passkeyMessage(error, locale));
      void offer();
    }
  };

  if (!isSupported) return null;
  return (
    <>
      {message && <Notice kind="error">{message}</Notice>}
      <button type="button" className="quiet" onClick={signInByButton}>
        {usePasskey}
      </button>
    </>
  );
}

type SignIn = {
  next: string;
  useBrowserAutofill: boolean;
  /** Whether to ask for a passkey once the options are there. */
  isWanted: () => boolean;
  isChecking: { current: boolean };
};

/** Goes to the next page after a sign-in. @throws WebAuthnError, RefusedRequest */
async function signIn({ next, useBrowserAutofill, isWanted, isChecking }: SignIn): Promise<void> {
  const optionsJSON = await postJson<PublicKeyCredentialRequestOptionsJSON>("/api/auth/passkeys/sign-in/options");
  if (!isWanted()) return;
  const passkey = await startAuthentication({ optionsJSON, useBrowserAutofill });
  if (isChecking.current) return;
  isChecking.current = true;
  try {
    await postJson("/api/auth/passkeys/sign-in", { passkey });
  } catch (error) {
    isChecking.current = false;
    if (isUnknown(error)) await forget(optionsJSON.rpId, passkey.id);
    throw error;
  }
  window.location.assign(next);
}

function isUnknown(error: unknown): boolean {
  return error instanceof RefusedRequest && error.problem.reason === "credential_unknown";
}

/** Tells the browser that a passkey was removed here (Web Authentication Level 3, section 5.1.10.2). */
async function forget(rpID = window.location.hostname, credentialID: string): Promise<void> {
  await sendSignal({ signalName: "unknownCredential", rpID, credentialID }).catch(() => {});
}

/** Offers passkeys for as long as the page is open. Returns how to stop. */
function keepOffering(offer: () => Promise<void>): () => void {
  let timer: number | undefined;
  let isStopped = false;
  const cancel = () => WebAuthnAbortService.cancelCeremony();
  const start = async () => {
    if (!(await browserSupportsWebAuthnAutofill()) || isStopped) return;
    timer = window.setInterval(offer, OFFER_INTERVAL_MS);
    document.addEventListener("visibilitychange", offer);
    window.addEventListener("pagehide", cancel); // or the browser could still be ending it when the next page asks
    await offer();
  };
  void start();
  return () => {
    isStopped = true;
    window.clearInterval(timer);
    document.removeEventListener("visibilitychange", offer);
    window.removeEventListener("pagehide", cancel);
    cancel();
  };
}
