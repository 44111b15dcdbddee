"use client";

import type { ReactNode } from "react";
import { FormContext } from "../../(web)/components/form";

type Values = Record<string, string>;

/** The values that fields below start with, and their errors. For forms that are sent as the query of a page. */
export function FormValues({ fields, values, children }: { fields: Values; values: Values; children: ReactNode }) {
  return <FormContext value={{ message: "", fields, values }}>{children}</FormContext>;
}
