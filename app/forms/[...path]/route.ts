import { AppError } from "@/lib/errors";
import { declare } from "@/lib/operation";
import { defineRoute, defineRoutes, forEveryMethod } from "@/lib/platform/http/route";
import { accountForms } from "../account";
import { consoleForms } from "../console/forms";
import { emailForms } from "../email";
import { factorForms } from "../factors";
import { firstOperatorForms } from "../first-operator";
import { signInForms } from "../sign-in";

const nothing = declare({
  summary: "Anything else under /forms",
  database: false,
  response: { status: 404, schema: null },
  run: () => {
    throw new AppError("not_found");
  },
});

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoutes(
  new Map([signInForms, emailForms, accountForms, factorForms, firstOperatorForms, consoleForms].flat()),
  defineRoute("/forms/[...path]", forEveryMethod(nothing)),
);
