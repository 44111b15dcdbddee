"use client";

import { use, useEffect, useState } from "react";
import { Field } from "./field";
import { FormContext } from "./form";

/**
 * The token of an emailed link. It is in the URL's fragment, which is not sent to the server; this reads it and
 * removes it from the browser's history. Without JavaScript, or if the token is invalid, the user pastes the link.
 */
export function TokenField() {
  const [token, setToken] = useState<string>();
  const { fields } = use(FormContext);
  useEffect(() => {
    const linked = new URLSearchParams(window.location.hash.slice(1)).get("token");
    if (!linked) return;
    setToken(linked);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  }, []);
  if (token && fields.token) setToken(undefined);
  if (token) return <input type="hidden" name="token" value={token} />;
  return (
    <Field
      name="token"
      label="Link from the email"
      hint="Paste the complete link from the email."
      required
      autoComplete="off"
      spellCheck={false}
    />
  );
}
