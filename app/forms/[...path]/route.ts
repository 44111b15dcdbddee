import { defineNothing, defineRoutes } from "@/lib/platform/http/route";
import { accountForms } from "../account";
import { emailForms } from "../email";
import { factorForms } from "../factors";
import { firstOperatorForms } from "../first-operator";
import { signInForms } from "../sign-in";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoutes(
  new Map([signInForms, emailForms, accountForms, factorForms, firstOperatorForms].flat()),
  defineNothing("/forms/[...path]"),
);
