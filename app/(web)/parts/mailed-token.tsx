"use client";

import { use, useEffect, useState } from "react";
import { Field } from "./field";
import { FormTrouble } from "./form";

/**
 * The token of a mailed link. It stands in the address after the #, which no server sees: taken from there and out
 * of the browser's history. Without JavaScript, or where that is no token, the link is pasted.
 */
export function MailedToken() {
  const [token, setToken] = useState<string>();
  const { fields } = use(FormTrouble);
  useEffect(() => {
    const given = new URLSearchParams(window.location.hash.slice(1)).get("token");
    if (!given) return;
    setToken(given);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  }, []);
  if (token && fields.token) setToken(undefined);
  if (token) return <input type="hidden" name="token" value={token} />;
  return (
    <Field
      name="token"
      label="The link from the mail"
      hint="Paste the whole link that we sent you."
      required
      autoComplete="off"
      spellCheck={false}
    />
  );
}
