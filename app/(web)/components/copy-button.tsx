"use client";

import { useState } from "react";
import { useTexts } from "../language/site-context";
import { defineTexts } from "../language/texts";

const COPIED_MS = 2_000;
const TEXTS = defineTexts({ en: { copy: "Copy", copied: "Copied" }, de: { copy: "Kopieren", copied: "Kopiert" } });

/** Copies a text. `name` is what it is, for screen readers. Needs JavaScript: without it, a style hides the button. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const { copy, copied } = useTexts(TEXTS);
  const [isCopied, setCopied] = useState(false);
  const write = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    window.setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button type="button" className="quiet copy" aria-label={`${isCopied ? copied : copy}: ${name}`} onClick={write}>
      {isCopied ? copied : copy}
    </button>
  );
}
