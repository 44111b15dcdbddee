"use client";

import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
} from "@simplewebauthn/browser";
import { useEffect, useRef, useState } from "react";
import { Notice } from "../components/notice";
import { useSite } from "../language/site-context";
import { passkeyMessage } from "./passkey-message";
import { postJson } from "./post-json";

type Props = {
  /** The API's path of the options. */
  optionsPath: string;
  label: string;
};

/** The button of a form that a passkey completes: asks for the passkey, and sends the form with it. */
export function PasskeyProof({ optionsPath, label }: Props) {
  const [isSupported, setSupported] = useState(false);
  const [message, setMessage] = useState("");
  const { locale } = useSite();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setSupported(browserSupportsWebAuthn()), []);

  const prove = async () => {
    setMessage("");
    try {
      const optionsJSON = await postJson<PublicKeyCredentialRequestOptionsJSON>(optionsPath, {});
      const passkey = await startAuthentication({ optionsJSON });
      if (!field.current) return;
      field.current.value = JSON.stringify(passkey);
      field.current.form?.requestSubmit();
    } catch (error) {
      setMessage(passkeyMessage(error, locale));
    }
  };

  if (!isSupported) return null;
  return (
    <>
      {message && <Notice kind="error">{message}</Notice>}
      <input ref={field} type="hidden" name="passkey" />
      <button type="button" className="quiet" onClick={prove}>
        {label}
      </button>
    </>
  );
}
