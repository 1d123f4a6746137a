export { addOperatorCommands, readOperatorCommand, type OperatorCommand } from './operator-commands.js';
