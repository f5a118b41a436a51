// Checks that TypeScript passes each Lua script the keys and arguments that its header declares.
import { dirname, relative, resolve } from 'node:path';
import ts from 'typescript';
import { LIBS, readLuaSource } from '../../libs/platform/src/redis/lua-source.mjs';

const ROOT = resolve(LIBS, '..');
/** Arguments that `RedisDeliveryScriptRunner` adds to each call. */
const ADDED = ['base'];

/**
 * Checks all calls of scripts in libs/.
 * @returns {{ calls: number, findings: string[] }}
 */
function checkLuaCalls() {
  const config = ts.getParsedCommandLineOfConfigFile(
    resolve(ROOT, 'tsconfig.json'),
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined },
  );
  if (config === undefined) throw new Error('cannot read tsconfig.json');
  const files = config.fileNames.filter((file) => file.startsWith(`${LIBS}/`) && !file.endsWith('.spec.ts'));
  const program = ts.createProgram(files, config.options);
  const checker = program.getTypeChecker();
  /** @type {string[]} */
  const findings = [];
  let calls = 0;

  /** @type {(node: ts.Node) => void} */
  const visit = (node) => {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    const { expression, name } = node.expression;
    const own = name.text.startsWith('run') ? scriptOf(checker, expression) : undefined;
    const passed = node.arguments
      .map((argument) => scriptOf(checker, argument))
      .find((path) => path !== undefined);
    const path = own ?? passed;
    if (path === undefined) return;
    calls += 1;
    const { keys, keysTail, args, argsTail } = readLuaSource(path).signature;
    const line = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1;
    const where = `${relative(ROOT, node.getSourceFile().fileName)}:${line}`;
    const wantedArguments = namesOf(args, argsTail).filter(
      (wanted) => own !== undefined || !ADDED.includes(wanted),
    );
    if (own !== undefined)
      findings.push(...differences(`${where}: key`, namesOf(keys, keysTail), node.arguments[1]));
    const given = own === undefined ? node.arguments.at(-1) : node.arguments[2];
    findings.push(...differences(`${where}: argument`, wantedArguments, given));
  };

  /** @type {(what: string, wanted: string[], given: ts.Expression | undefined) => string[]} */
  const differences = (what, wanted, given) => {
    const type = given === undefined ? undefined : checker.getTypeAtLocation(given);
    const types = type === undefined ? [] : type.isUnion() ? type.types : [type];
    const objects =
      type === undefined ? [[]] : types.map((one) => one.getProperties().map((property) => property.name));
    return objects.flatMap((names) => [
      ...wanted
        .filter((one) => !names.includes(one))
        .map((one) => `${what} ${one} is declared in the script's header, but the call does not pass it`),
      ...names
        .filter((one) => !wanted.includes(one))
        .map((one) => `${what} ${one} is passed, but not declared in the script's header`),
    ]);
  };

  for (const file of program.getSourceFiles()) if (files.includes(file.fileName)) visit(file);
  return { calls, findings };
}

/**
 * Returns the path of the script that an identifier refers to, or undefined.
 * @param {ts.TypeChecker} checker
 * @param {ts.Node} node
 */
function scriptOf(checker, node) {
  if (!ts.isIdentifier(node)) return undefined;
  const local = checker.getSymbolAtLocation(node);
  const isImported = local !== undefined && (local.flags & ts.SymbolFlags.Alias) !== 0;
  const declaration = (isImported ? checker.getAliasedSymbol(local) : local)?.valueDeclaration;
  if (declaration === undefined || !ts.isVariableDeclaration(declaration)) return undefined;
  const { initializer } = declaration;
  if (initializer === undefined || !ts.isCallExpression(initializer)) return undefined;
  const path = initializer.arguments[1];
  if (initializer.expression.getText() !== 'LuaScript.from' || path === undefined) return undefined;
  if (!ts.isStringLiteral(path))
    throw new Error(`the path of a Lua script must be a string literal: ${path.getText()}`);
  return resolve(dirname(declaration.getSourceFile().fileName), path.text);
}

/**
 * @param {string[]} names
 * @param {string | undefined} tail
 */
function namesOf(names, tail) {
  return [...names, ...(tail === undefined ? [] : [tail])].map((name) =>
    name.replace(/_([a-z0-9])/g, (_, /** @type {string} */ letter) => letter.toUpperCase()),
  );
}

const { calls, findings } = checkLuaCalls();
for (const finding of findings) console.error(finding);
if (findings.length > 0) process.exitCode = 1;
else console.log(`All ${calls} calls of Lua scripts pass the declared keys and arguments.`);
