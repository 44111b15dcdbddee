"use client";

import { use } from "react";
import { FormContext } from "../../(web)/components/form";

/** The error that the form has for a group of fields. */
export function FieldError({ name }: { name: string }) {
  const error = use(FormContext).fields[name];
  if (!error) return null;
  return (
    <p className="field-error" role="alert" tabIndex={-1}>
      {error}
    </p>
  );
}
