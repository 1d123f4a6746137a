import fs from 'node:fs';
import path from 'node:path';

import ts from 'typescript';

import { ROOT } from '../paths.mjs';
import { TypeSchemas } from './type-schemas.mjs';

/** @typedef {import('./type-schemas.mjs').Schema} Schema */
/** @typedef {{ answer: Schema | null, summary: string }} HandlerTypes null: the handler returns nothing, or answers by itself */
/** @typedef {{ description: string, handlers: Record<string, HandlerTypes> }} ControllerTypes */
/** @typedef {{ description: string, fields: Record<string, Schema & { optional?: boolean }> }} BodyTypes */
/** @typedef {{ controllers: Record<string, ControllerTypes>, bodies: Record<string, BodyTypes[]>, schemas: Record<string, Schema> }} TypeBook */

const FOLDERS = ['apps/gateway/src', 'libs/http/src', 'libs/runtime/src'];
const PARAMETERS_OF_CALLER = ['Body', 'Query'];

/**
 * What only the compiler knows of the API: the types of answers, of fields in bodies, and the comments on both. Read from
 * the sources, so that the description follows the code without a second word for anything.
 * @returns {TypeBook}
 */
export function readTypeBook() {
  const files = controllerFiles();
  const program = ts.createProgram(files, compilerOptions());
  const checker = program.getTypeChecker();
  const schemas = new TypeSchemas(checker);
  /** @type {TypeBook} */
  const book = { controllers: {}, bodies: schemas.bodies, schemas: schemas.components };
  for (const file of files) {
    const source = program.getSourceFile(file);
    if (!source) throw new Error(`${file} is not part of the program`);
    ts.forEachChild(source, (node) => {
      if (!ts.isClassDeclaration(node) || !node.name || !hasDecorator(node, 'Controller')) return;
      book.controllers[node.name.text] = readController(node, checker, schemas);
    });
  }
  return book;
}

/**
 * @param {ts.ClassDeclaration} controller
 * @param {ts.TypeChecker} checker
 * @param {TypeSchemas} schemas
 * @returns {ControllerTypes}
 */
function readController(controller, checker, schemas) {
  /** @type {Record<string, HandlerTypes>} */
  const handlers = {};
  for (const member of controller.members) {
    if (!ts.isMethodDeclaration(member) || !ts.canHaveDecorators(member) || !ts.getDecorators(member)?.length) continue;
    const signature = checker.getSignatureFromDeclaration(member);
    if (!signature) continue;
    const returned = signature.getReturnType();
    const answer = checker.getAwaitedType(returned) ?? returned;
    handlers[member.name.getText()] = { answer: schemas.answerOf(answer), summary: schemas.commentOn(member) };
    for (const taken of classesTaken(member, checker)) schemas.addBody(taken);
    for (const parameter of member.parameters) {
      const isOfCaller = PARAMETERS_OF_CALLER.some((name) => hasDecorator(parameter, name));
      if (isOfCaller) schemas.addBody(checker.getTypeAtLocation(parameter));
    }
  }
  return { description: schemas.commentOn(controller), handlers };
}

/** What `@Takes` names. @param {ts.MethodDeclaration} handler @param {ts.TypeChecker} checker */
function classesTaken(handler, checker) {
  return (ts.getDecorators(handler) ?? []).flatMap(({ expression }) => {
    if (!ts.isCallExpression(expression) || expression.expression.getText() !== 'Takes') return [];
    const [argument] = expression.arguments;
    const symbol = argument && checker.getSymbolAtLocation(argument);
    if (!symbol) return [];
    const isImport = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return [checker.getDeclaredTypeOfSymbol(isImport ? checker.getAliasedSymbol(symbol) : symbol)];
  });
}

/**
 * @param {ts.HasDecorators} node
 * @param {string} name
 */
function hasDecorator(node, name) {
  return (ts.getDecorators(node) ?? []).some(
    ({ expression }) => ts.isCallExpression(expression) && expression.expression.getText() === name,
  );
}

function controllerFiles() {
  const isSource = (/** @type {string} */ name) => name.endsWith('.ts') && !/\.(int-|e2e-|long-)?spec\.ts$/.test(name);
  return FOLDERS.flatMap((folder) =>
    fs
      .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => isSource(name) && !name.includes('testing'))
      .map((name) => path.join(ROOT, folder, name)),
  )
    .filter((file) => fs.readFileSync(file, 'utf8').includes('@Controller('))
    .sort();
}

/** @returns {ts.CompilerOptions} */
function compilerOptions() {
  const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file));
  const { options } = ts.convertCompilerOptionsFromJson(config.config.compilerOptions, ROOT);
  return { ...options, noEmit: true, types: ['node'] };
}
