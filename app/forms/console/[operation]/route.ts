import { defineNothing, defineRoutes } from "@/lib/platform/http/route";
import { consoleForms } from "../forms";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoutes(
  new Map(consoleForms),
  defineNothing("/forms/console/[operation]"),
);
